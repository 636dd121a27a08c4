const text: string = require('fs').readFileSync('/dev/stdin', 'utf8');
let total: bigint = BigInt(0);
for (const word of text.trim().split(/\s+/).slice(1)) total += BigInt(word);
console.log(total.toString());
