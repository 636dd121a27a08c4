SELECT region, SUM(amount) AS total FROM sales GROUP BY region HAVING total > 0 ORDER BY total DESC;
