WITH totals AS (SELECT region, SUM(amount) AS total FROM sales WHERE amount IS NOT NULL GROUP BY region)
SELECT region, total FROM totals ORDER BY total DESC;
