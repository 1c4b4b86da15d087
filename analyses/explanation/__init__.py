"""May attention be read as an explanation? Tests of the attention of text classifiers."""
