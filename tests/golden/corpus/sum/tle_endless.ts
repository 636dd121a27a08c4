import * as fs from 'fs';

const s: string = fs.readFileSync(0, 'utf8');
let x = s.length;
while (x !== -1) x = (x * 31 + 7) % 1000003;
console.log(x);
