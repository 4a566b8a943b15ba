// Prints the licences of all packages of package-lock.json, which go along with the bundles.
import { readFileSync, readdirSync } from 'node:fs';

const lock = JSON.parse(readFileSync('package-lock.json', 'utf8'));
for (const path of Object.keys(lock.packages).sort()) {
	if (!path) continue;
	const { name, version, license } = JSON.parse(readFileSync(`${path}/package.json`, 'utf8'));
	const file = readdirSync(path).find((f) => /^licen[cs]e/i.test(f));
	console.log(`${name} ${version} (${license})\n\n${file ? readFileSync(`${path}/${file}`, 'utf8').trim() : 'Its package holds no text of the licence.'}\n\n----------------------------------------\n`);
}
