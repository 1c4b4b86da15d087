"""How the results of the explanation tests are shown: tables, figures and the part of the page."""
