const lines = require('readline').createInterface({ input: process.stdin });
const words = [];
lines.on('line', (line) => words.push(...line.trim().split(/\s+/)));
lines.on('close', () => setTimeout(() => console.log(words.slice(1).map(Number).reduce((a, b) => a + b, 0)), 5));
