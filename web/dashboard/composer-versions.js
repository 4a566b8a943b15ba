// Earlier versions of a draft: a list, the differences, and restoring.
import { html, useState } from './lib/core.js';
import { api, useGet, useList } from './api.js';
import { Diff } from './diff.js';
import { size } from './format.js';
import { t } from './i18n.js';
import { languageName } from './language-names.js';
import { encoded } from './paths.js';
import { me } from './state.js';
import { Bones, Button, Empty, Failed, Time, useEscape } from './ui/base.js';
import { attempt } from './ui/float.js';

const who = (by) => (by.type === 'person' ? (by.id === me.value?.id ? t('versions.you') : t('versions.person')) : t(`versions.${by.type}`));

/** The texts of a version or a draft, those of its languages too: [name, text]. @param {any} of @param {string[]} fields @returns {[string, string][]} */
const textsOf = (of, fields) => [['', of], ...Object.entries(of.variants ?? {})].flatMap(([language, part]) => fields.map((f) => /** @type {[string, string]} */ ([`${language && `${languageName(language)}: `}${t(`versions.${f}`)}`, part[f] ?? ''])));

/** The differences of a version from the draft. @param {{was: any, now: any, fields: string[]}} props */
function Differences({ was, now, fields }) {
	const before = new Map(textsOf(was, fields));
	const after = new Map(was.variants ? textsOf(now, fields) : textsOf({ ...now, variants: {} }, fields));
	const names = [...new Set([...before.keys(), ...after.keys()])].filter((name) => (before.get(name) ?? '') !== (after.get(name) ?? ''));
	if (!names.length) return html`<p class="muted t13r">${t('editor.same')}</p>`;
	return names.map((name) => html`<h3 class="t13 versions-field">${name}</h3><${Diff} before=${before.get(name) ?? ''} after=${after.get(name) ?? ''} />`);
}

/** @param {{draft: any, fields: string[], close: () => void, onRestored?: () => void}} props fields are those whose differences are shown. */
export function Versions({ draft, fields, close }) {
	useEscape(close);
	const list = useList(`${draft.path}/versions`, { saved: undefined }, { limit: 50 });
	const [at, setAt] = useState(/** @type {number|null} */ (null));
	const shown = useGet(at === null ? null : draft.path + encoded`/versions/${at}`);
	const restore = (n) => attempt(async () => {
		if (!(await draft.save())) return;
		await api.post(draft.path + encoded`/versions/${n}/restore`);
		draft.take(await api.get(draft.path));
		await list.reload();
		setAt(null);
	}, t('versions.restored', { n }), { undo: () => attempt(async () => {
		const { data } = await api.get(`${draft.path}/versions`, { limit: 1 });
		await api.post(draft.path + encoded`/versions/${data[0].n}/restore`);
		draft.take(await api.get(draft.path));
	}) });
	return html`<section aria-label=${t('versions.title')}><div class="bench-head"><h2 class="t14">${at === null ? t('versions.title') : t('versions.one', { n: at })}</h2><span class="push"></span>
	${at !== null && html`<${Button} onClick=${() => setAt(null)}>${t('versions.all')}<//><${Button} icon="history" onClick=${() => restore(at)}>${t('versions.restore')}<//>`}<${Button} icon="x" kind="quiet" label=${t('ui.close')} onClick=${close} /></div>
	<div class="bench-pad">${at !== null ? shown.error ? html`<${Failed} error=${shown.error} />` : !shown.data ? html`<${Bones} />` : html`<${Differences} was=${shown.data} now=${draft.value} fields=${fields} />`
		: list.loading ? html`<${Bones} rows=${4} />` : !list.rows.length ? html`<${Empty} icon="history" title=${t('versions.none')}>${t('versions.noneText')}<//>`
		: html`<ul class="items">${list.rows.map((v) => html`<li><span class="num muted">${v.n}</span><span class="grow"><${Time} at=${v.created_at} as="clock" /> <span class="muted">${who(v.changed_by)}, ${size(v.bytes)}</span></span><${Button} onClick=${() => setAt(v.n)}>${t('versions.compare')}<//></li>`)}</ul>`}</div></section>`;
}
