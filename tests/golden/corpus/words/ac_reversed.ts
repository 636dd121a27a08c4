import * as fs from 'fs';

const s: string = fs.readFileSync(0, 'utf8');
console.log(s.trim().split(/\s+/).reverse().join(' '));
