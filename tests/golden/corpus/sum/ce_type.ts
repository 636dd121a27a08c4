const total: number = 'six';
console.log(total);
