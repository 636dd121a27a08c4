const s = require('fs').readFileSync(0, 'utf8');
const n = parseInt(s);
for (let d = n; d > 0; d--) if (n % d === 0) console.log(d);
