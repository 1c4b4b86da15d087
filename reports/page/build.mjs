// Bundles src/ into explorer.js and explorer.css, which are committed. The same sources and the same package-lock.json
// give the same bytes. `node build.mjs FOLDER` writes to another folder, so that a test can compare.
import { build } from "esbuild";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const target = process.argv[2] ?? here;

const result = await build({
  entryPoints: [join(here, "src/index.ts")],
  absWorkingDir: here,
  bundle: true,
  minify: true,
  format: "iife",
  target: ["chrome103", "firefox113", "safari16.4"],
  charset: "ascii", // the page may be read in any encoding
  legalComments: "none", // the licenses are written below
  metafile: true,
  write: false,
  outdir: "out",
});

const inputs = Object.keys(result.metafile.inputs);
const packages = new Set(inputs.map((path) => path.match(/^node_modules\/((?:@[^/]+\/)?[^/]+)/)?.[1]).filter(Boolean));
const notices = [...packages].sort().map((name) => {
  const { version } = JSON.parse(readFileSync(join(here, "node_modules", name, "package.json"), "utf8"));
  const license = readFileSync(join(here, "node_modules", name, "LICENSE"), "utf8").trim();
  return { title: `${name} ${version}`, license };
});
const licenses = new Map(); // text → packages
for (const { title, license } of notices) licenses.set(license, [...(licenses.get(license) ?? []), title]);
const banner = [...licenses].map(([license, titles]) => `${titles.join(", ")}\n\n${license}`).join("\n\n----\n\n");

for (const { path, text } of result.outputFiles) {
  const name = path.endsWith(".css") ? "explorer.css" : "explorer.js";
  const notice = name.endsWith(".js") ? `/*\nThis file contains:\n\n${banner.replaceAll("*/", "* /")}\n*/\n` : "";
  writeFileSync(join(target, name), notice + text);
}
