"""What heads do on the surface of the text (Clark et al. 2019, §3)."""
