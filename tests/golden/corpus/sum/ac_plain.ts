import * as fs from 'fs';

const s: string = fs.readFileSync(0, 'utf8');
console.log(String(s.trim().split(/\s+/).slice(1).map(Number).reduce((a, b) => a + b, 0)));
