"""What is known of the field's datasets: how their rows and their images are made."""
