"""Contrast as WCAG 2 defines it, measured in the page."""

from __future__ import annotations

from typing import Any

TEXTS = """
() => {
  const parse = (color) => {
    const numbers = (color.match(/[\\d.]+/g) ?? []).map(Number);
    const scale = color.startsWith("color(") ? 255 : 1;
    return { rgb: numbers.slice(0, 3).map((x) => x * scale), alpha: numbers[3] ?? 1 };
  };
  const over = (top, bottom) => top.rgb.map((x, i) => x * top.alpha + bottom[i] * (1 - top.alpha));
  const luminance = (rgb) => rgb.map((x) => x / 255)
    .map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4))
    .reduce((sum, x, i) => sum + x * [0.2126, 0.7152, 0.0722][i], 0);
  const contrast = (a, b) => {
    const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
    return (high + 0.05) / (low + 0.05);
  };
  const ground = (element) => {
    const layers = [];
    for (let ancestor = element; ancestor; ancestor = ancestor.parentElement)
      layers.push(parse(getComputedStyle(ancestor).backgroundColor));
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255]);
  };
  const result = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const unseen = "script, style, noscript, figure > svg, [hidden]";
    if (!walker.currentNode.textContent.trim() || element.closest(unseen)) continue;
    if (!element.checkVisibility() || element.closest("button:disabled, .disabled")) continue;
    const style = getComputedStyle(element);
    const cell = element.closest(".cell")?.querySelector(".swatch");
    const drawn = element instanceof SVGElement;
    const color = parse(drawn ? style.fill : style.color);
    const below = cell ? parse(getComputedStyle(cell).fill).rgb : ground(element);
    result.push([contrast(over(color, below), below), element.textContent.trim().slice(0, 60)]);
  }
  return result;
}
"""


def contrasts(page: Any) -> list[tuple[float, str]]:
    """The contrast of every visible text with what is behind it, and the text."""
    return [(ratio, text) for ratio, text in page.evaluate(TEXTS)]
