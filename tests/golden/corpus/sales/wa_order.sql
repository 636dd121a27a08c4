SELECT region, SUM(amount) FROM sales WHERE amount NOT NULL GROUP BY region ORDER BY 2;
