// A new import: the meaning of each column, and what happens to each contact.
import { html, useEffect, useState } from './lib/core.js';
import { ApiError, request, useGet } from './api.js';
import { size } from './format.js';
import { t } from './i18n.js';
import { go, href } from './router.js';
import { Bones, Button, Check, Head, Notice, Section, Select } from './ui/base.js';
import { toast } from './ui/float.js';
import { consentOf, countRows, headOf, keyOf, services } from './csv-head.js';
import { segmentChoice } from './contact-acts.js';
import { encoded } from './paths.js';

/** How large a file can be, in bytes. */
const most = 200e6;

/** @param {{file: File, close: () => void}} props */
export function Mapping({ file, close }) {
	const [head, setHead] = useState(/** @type {any} */ (null));
	const [map, setMap] = useState(/** @type {string[]} */ ([]));
	const [keys, setKeys] = useState(/** @type {string[]} */ ([]));
	const [types, setTypes] = useState(/** @type {string[]} */ ([]));
	const declared = useGet('/contact-properties', { limit: 100 }).data?.data ?? [];
	const [preset, setPreset] = useState('');
	const [conflict, setConflict] = useState('upsert');
	const [segment, setSegment] = useState('');
	const [start, setStart] = useState(false);
	const enabled = useGet('/automations', { status: 'enabled', limit: 1 }).data?.data ?? [];
	const [refused, setRefused] = useState('');
	const [rows, setRows] = useState(-1);
	const segments = useGet('/segments', { limit: 100 }).data?.data ?? [];
	useEffect(() => {
		headOf(file).then((found) => {
			setHead(found);
			setMap(found.map);
			setKeys(found.headings.map(keyOf));
			setPreset(found.preset);
			if (!found.packed && file.size <= most) countRows(file).then(setRows);
		});
	}, [file]);
	if (!head) return html`<${Head} title=${t('imports.new')} path=${[[t('imports.title'), href('/imports')]]} /><${Bones} />`;
	const byHand = !preset && !head.packed;
	const kinds = keys.map((key, i) => types[i] ?? declared.find((one) => one.key === key)?.type ?? 'string');
	const wrong = file.size > most ? t('imports.tooLarge', { size: size(file.size), most: size(most) }) : byHand ? problem(head.headings, map, keys) : '';
	const send = async () => {
		const body = new FormData();
		if (byHand) body.append('column_map', JSON.stringify(columnMap(head.headings, map, keys, kinds)));
		else if (preset) body.append('preset', preset);
		body.append('on_conflict', conflict);
		if (segment) body.append('segments', JSON.stringify([segment]));
		if (start) body.append('trigger_automations', 'true');
		body.append('file', file);
		try {
			const made = await (await request('POST', '/contacts/imports', { body })).json();
			toast(t('imports.started'));
			go(encoded`/imports/${made.id}`);
		} catch (e) {
			if (!(e instanceof ApiError)) throw e;
			setRefused(e.message);
		}
	};
	const columns = head.headings.length > 0 && html`<${Columns} head=${head} map=${byHand ? map : null} setMap=${setMap} keys=${keys} setKeys=${setKeys} kinds=${kinds} setKind=${(i, kind) => setTypes({ ...types, [i]: kind })} />`;
	return html`<${Head} title=${html`<bdi>${file.name}</bdi>`} text=${file.name} path=${[[t('imports.title'), href('/imports')]]}><${Button} kind="quiet" onClick=${close}>${t('ui.cancel')}<//><${Button} kind="primary" disabled=${Boolean(wrong)} onClick=${send}>${t('imports.start')}<//><//>
	<div class="page"><div class="stack">
		${refused && html`<${Notice} kind="bad">${refused}<//>`}
		${wrong && html`<${Notice} kind="warn">${wrong}<//>`}
		<p class="muted t13r">${size(file.size)} · ${head.packed ? 'ZIP' : t('imports.columns', { n: head.headings.length })}${rows >= 0 && html` · <span data-rows=${rows}>${t('imports.rows', { n: rows })}</span>`}</p>
		<${Select} label=${t('imports.from')} value=${preset} options=${[['', t(head.packed ? 'imports.byHeadings' : 'imports.elsewhere')], ...services]} onChange=${setPreset} hint=${head.packed && t('imports.packed')} />
		<${Becomes} head=${head} preset=${preset} /></div>
		${byHand && columns}
		<${Section} title=${t('imports.how')}><div class="stack"><${Select} label=${t('imports.known')} value=${conflict} options=${['upsert', 'skip'].map((one) => [one, t(`imports.${one}`)])} onChange=${setConflict} hint=${t('imports.knownHint')} />
			${segments.length > 0 && html`<${Select} label=${t('imports.into')} value=${segment} options=${segmentChoice(segments, t('ui.none'))} onChange=${setSegment} />`}
			${enabled.length > 0 && html`<div><${Check} label=${rows >= 0 ? t('automations.startN', { n: rows }) : t('automations.startAll')} checked=${start} onChange=${setStart} /><p class="muted t12 prose">${t('automations.startHint')}</p></div>`}</div><//>
		${!byHand && columns}</div>`;
}

/** The summary of a file whose columns are known. @param {{head: any, preset: string}} props */
function Becomes({ head, preset }) {
	if (preset === 'postmark' || (preset === 'sendgrid' && head.dump)) return html`<${Notice}>${t('imports.dump')}<//>`;
	if (preset || head.packed) return html`<${Notice}>${t('imports.preset')}<//>`;
	const source = services.find(([id]) => id === head.preset)?.[1];
	return source && html`<${Notice} kind="warn">${t('imports.sourceNote', { source })}<//>`;
}

/** The type of a column's values. */
const kindChoices = () => [...['string', 'number', 'boolean'].map((kind) => [kind, t(`properties.${kind}`)]), ...['number_comma', 'number_point', 'date_dmy', 'date_mdy', 'date_ymd'].map((kind) => [kind, t(`imports.${kind}`)])];

/** The columns and their first rows; map null: the preset decides. @param {any} props */
const Columns = ({ head, map, setMap, keys, setKeys, kinds, setKind }) => html`<${Section} title=${t('imports.map')}><table class="table stack-s" aria-label=${t('imports.map')}><thead><tr><th scope="col">${t('imports.column')}</th>${map && html`<th scope="col">${t('imports.becomes')}</th>`}<th scope="col">${t('imports.samples')}</th></tr></thead><tbody>
	${head.headings.map((heading, i) => html`<tr key=${i}><td data-label=${t('imports.column')}><span class="break">${heading || t('imports.nameless', { n: i + 1 })}</span>${consentOf(heading) && html`<br /><span class="muted t13r">${t(`imports.${consentOf(heading)}`)}</span>`}</td>
		${map && html`<td data-label=${t('imports.becomes')}><${Select} bare label=${t('imports.becomesOf', { column: heading || i + 1 })} value=${map[i]} options=${choices(heading)} onChange=${(to) => setMap(map.map((one, j) => (j === i ? to : one)))} />${map[i] === 'property' && html`<span class="row row--wrap"><input class="input" aria-label=${t('imports.keyOf', { column: heading || i + 1 })} value=${keys[i]} maxlength="50" spellcheck="false" onInput=${(e) => setKeys(keys.map((one, j) => (j === i ? e.target.value : one)))} /><${Select} bare label=${t('imports.typeOf', { column: heading || i + 1 })} value=${kinds[i]} options=${kindChoices()} onChange=${(kind) => setKind(i, kind)} /></span>`}</td>`}
		<td class="cell-cut muted" data-label=${t('imports.samples')}><bdi>${head.rows.slice(0, 3).map((row) => row[i]).filter(Boolean).join(' · ') || '–'}</bdi></td></tr>`)}</tbody></table><//>`;

/** The possible meanings of a column. @param {string} heading */
const choices = (heading) => [['', t('imports.leftOut')], ['email', t('contacts.email')], ['first_name', t('contacts.firstName')], ['last_name', t('contacts.lastName')], ['unsubscribed', t('contacts.unsubscribed')], ...(/[A-Za-z0-9]/.test(heading) ? [['property', t('imports.aProperty')]] : [])];

/** Why a map can't be sent, or nothing. @param {string[]} headings @param {string[]} map @param {string[]} names of properties */
function problem(headings, map, names) {
	if (!map.includes('email')) return t('imports.noEmail');
	const twice = ['email', 'first_name', 'last_name', 'unsubscribed'].find((field) => map.filter((one) => one === field).length > 1);
	if (twice) return t('imports.twice', { field: t(`conditions.${twice}`) });
	const keys = names.filter((_, i) => map[i] === 'property');
	const bad = keys.find((key) => !/^[A-Za-z0-9_]{1,50}$/.test(key));
	if (bad !== undefined) return t('imports.badKey', { key: bad || '–' });
	const same = keys.find((key, i) => keys.indexOf(key) !== i);
	if (same) return t('imports.twice', { field: same });
	const used = headings.filter((_, i) => map[i]);
	const again = used.find((heading, i) => used.indexOf(heading) !== i);
	return again ? t('imports.sameHeading', { column: again }) : '';
}

/** The column map of the API. @param {string[]} headings @param {string[]} map @param {string[]} keys @param {string[]} kinds */
function columnMap(headings, map, keys, kinds) {
	/** @type {any} */
	const out = { properties: {} };
	headings.forEach((heading, i) => {
		if (map[i] === 'property') out.properties[keys[i]] = { column: heading, type: kinds[i] };
		else if (map[i]) out[map[i]] = heading;
	});
	return out;
}
