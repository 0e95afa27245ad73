"""Reports of trainings: pages to send to somebody."""
