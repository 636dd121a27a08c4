const s = require('fs').readFileSync(0, 'utf8');
const r = parseFloat(s);
console.log(Math.PI * r * r);
