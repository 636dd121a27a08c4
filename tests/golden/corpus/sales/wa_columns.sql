SELECT SUM(amount), region FROM sales WHERE amount NOT NULL GROUP BY region ORDER BY 1 DESC;
