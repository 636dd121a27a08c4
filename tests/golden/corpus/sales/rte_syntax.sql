SELEC region FROM sales;
