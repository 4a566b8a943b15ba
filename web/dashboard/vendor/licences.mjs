// Prints the licences of all packages that stand in bundles, by esbuild's account of each,
// which go along with them.
import { existsSync, readFileSync, readdirSync } from 'node:fs';

const used = new Set();
for (const file of process.argv.slice(2)) {
	for (const { inputs } of Object.values(JSON.parse(readFileSync(file, 'utf8')).outputs)) {
		for (const input of Object.keys(inputs)) {
			const path = input.match(/^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/)?.[0];
			if (path && existsSync(`${path}/package.json`)) used.add(path);
		}
	}
}
for (const path of [...used].sort()) {
	const { name, version, license } = JSON.parse(readFileSync(`${path}/package.json`, 'utf8'));
	const file = readdirSync(path).find((f) => /^licen[cs]e/i.test(f));
	console.log(`${name} ${version} (${license})\n\n${file ? readFileSync(`${path}/${file}`, 'utf8').trim() : 'Its package holds no text of the licence.'}\n\n----------------------------------------\n`);
}
