import * as fs from 'fs';

const s: string = fs.readFileSync(0, 'utf8');
throw new Error('no');
