const length = parseFloat(require('fs').readFileSync(0, 'utf8'));
console.log((2 * Math.PI * Math.sqrt(length / 9.81)).toFixed(3));
