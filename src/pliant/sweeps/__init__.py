"""Many runs of one robot or study with other numbers: what varies, how it is computed, and the table that it makes."""
