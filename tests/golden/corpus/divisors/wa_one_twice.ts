import * as fs from 'fs';

const s: string = fs.readFileSync(0, 'utf8');
const n = parseInt(s);
for (let d = 1; d <= n; d++) console.log(d);
