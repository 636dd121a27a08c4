const s = require('fs').readFileSync(0, 'utf8');
console.log(s.trim().split(/\s+/).slice(1, -1).map(Number).reduce((a, b) => a + b, 0));
