SELECT region, amount FROM sale;
