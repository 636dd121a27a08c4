const s = require('fs').readFileSync(0, 'utf8');
function deep(n) { return 1 + deep(n + 1); }
try { deep(0); } catch (error) { process.exit(7); }
