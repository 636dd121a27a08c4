import * as fs from 'fs';

const s: string = fs.readFileSync(0, 'utf8');
function deep(n: number): number { return 1 + deep(n + 1); }
try { deep(0); } catch (error) { process.exit(7); }
