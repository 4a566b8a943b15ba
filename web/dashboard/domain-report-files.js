// Uploading files with reports about a domain.
import { html, useRef, useState } from './lib/core.js';
import { ApiError, request } from './api.js';
import { reason } from './domain-report-words.js';
import { size } from './format.js';
import { t } from './i18n.js';
import { encoded } from './paths.js';
import { Button, Icon, Section } from './ui/base.js';

/** The most bytes of a file. */
const most = 15 << 20;

/** The texts about a file: [kind, text]. @param {any} d @param {File} file @returns {Promise<[string, string][]>} */
async function send(d, file) {
	if (file.size > most) return [['bad', t('domain.reports.tooLarge', { size: size(most) })]];
	try {
		await file.slice(0, 1).arrayBuffer(); // of a folder it fails
	} catch {
		return [['bad', t('domain.reports.noFile')]];
	}
	const body = new FormData();
	body.append('file', file, file.name);
	try {
		const done = await (await request('POST', encoded`/domains/${d.id}/reports`, { body })).json();
		const found = /** @type {[string, string][]} */ (done.refused.map((r) => ['bad', (r.name.startsWith(`${file.name}, `) ? `${r.name.slice(file.name.length + 2)}: ` : '') + reason(r.reason)]));
		if (done.duplicates) found.unshift(['', t('domain.reports.duplicates', { n: done.duplicates })]);
		if (done.imported || !found.length) found.unshift(['good', t('domain.reports.imported', { n: done.imported })]);
		return found;
	} catch (e) {
		if (!(e instanceof ApiError)) throw e;
		return [['bad', e.message]];
	}
}

/** The section; done runs after files were sent. @param {{of: any, done: () => any}} props */
export function Upload({ of: d, done }) {
	const input = useRef(/** @type {any} */ (null));
	const [over, setOver] = useState(false);
	const [busy, setBusy] = useState(false);
	const [results, setResults] = useState(/** @type {{name: string, said: [string, string][]}[]} */ ([]));
	const take = async (files) => {
		if (busy || !files.length) return;
		setBusy(true);
		const all = [];
		for (const file of files) {
			all.push({ name: file.name, said: await send(d, file) });
			setResults([...all]);
		}
		setBusy(false);
		done();
	};
	return html`<${Section} title=${t('domain.reports.upload')}><div class=${`brand-drop ${over ? 'is-over' : ''}`} onDragOver=${(e) => {
		e.preventDefault();
		setOver(true);
	}} onDragLeave=${() => setOver(false)} onDrop=${(e) => {
		e.preventDefault();
		setOver(false);
		take([...e.dataTransfer.files]);
	}}><div><p class="t13r">${t('domain.reports.drop')}</p><p class="muted t12">${t('domain.reports.kinds')}</p></div><${Button} icon="attach" busy=${busy} onClick=${() => input.current.click()}>${t('domain.reports.choose')}<//>
	<input class="vh" type="file" tabindex="-1" multiple aria-label=${t('domain.reports.drop')} ref=${input} onChange=${(e) => {
		const files = [...e.currentTarget.files];
		e.currentTarget.value = '';
		take(files);
	}} /></div>
	<ul class="items items--top" role="status">${results.map(({ name, said }, i) => said.map(([kind, text], j) => html`<li key=${`${i} ${j}`}><${Icon} name=${kind === 'bad' ? 'alert' : kind === 'good' ? 'check' : 'info'} class=${kind} /><span class="grow break"><bdi class="medium">${name}</bdi> <span class="ink2">${text}</span></span></li>`))}</ul><//>`;
}
