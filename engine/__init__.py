"""Plans → shared passes over the corpus → counts → results. It knows no analysis by name."""
