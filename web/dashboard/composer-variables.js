// The variables of a broadcast: their fallbacks, and how many contacts have no value.
import { html, useEffect, useMemo, useState } from './lib/core.js';
import { api, useGet } from './api.js';
import { number } from './format.js';
import { t } from './i18n.js';
import { contactIn } from './liquid.js';
import { encoded } from './paths.js';
import { used } from './variables.js';

/** How many variables are counted. */
const most = 8;

/** The field of a variable in the conditions of segments; null: everybody has it. @param {string} key */
export function fieldOf(key) {
	const name = key.replace(/^contact\./, '');
	const builtIn = { FIRST_NAME: 'first_name', LAST_NAME: 'last_name', EMAIL: null, first_name: 'first_name', last_name: 'last_name', email: null };
	return name in builtIn ? builtIn[name] : `property:${name}`;
}

/** The filter of contacts in a segment without a value; null if conditions can't express it. @param {any} segment undefined: everybody @param {string} field */
export function without(segment, field) {
	const none = { field, op: 'is_not_set' };
	if (!segment) return { match: 'all', conditions: [none] };
	const { filter } = segment;
	if (!filter || (filter.match !== 'all' && filter.conditions.length > 1)) return null;
	return { match: 'all', conditions: [...filter.conditions, none] };
}

/** How many of an audience have no value of a variable: {count, exact}, or null. @param {{key: string, segment: any, ready: boolean}} of */
function useNone({ key, segment, ready }) {
	const field = fieldOf(key);
	const filter = ready && field ? without(segment, field) : null;
	const asked = JSON.stringify(filter);
	const [found, setFound] = useState(/** @type {any} */ (null));
	useEffect(() => {
		setFound(null);
		if (!filter) return;
		const end = new AbortController();
		// Counts that fail, like those of a deleted property, are not shown.
		api.read('/segments/preview', { filter }, { signal: end.signal }).then(setFound, () => {});
		return () => end.abort();
	}, [asked]);
	return found;
}

function Variable({ name, otherwise, segment, ready }) {
	const none = useNone({ key: name, segment, ready });
	return html`<span><code class="tk-v">${name.replace(/^contact\./, '')}</code> ${none?.count > 0 && html`<span class="muted">${t('editor.haveNone', { n: none.count, count: `${number(none.count)}${none.exact ? '' : '+'}` })},</span> `}${otherwise ? t('editor.else', { text: otherwise }) : html`<span class="warn">${t('editor.elseNothing')}</span>`}</span>`;
}

/** The bar below the editor. @param {{texts: (string|null)[], fallbacks: Record<string, string|null>, segment: string|null, liquid: boolean}} props */
export function Variables({ texts, fallbacks, segment, liquid }) {
	const audience = useGet(segment ? encoded`/segments/${segment}` : null);
	const all = useMemo(() => {
		const byName = new Map();
		for (const text of texts) for (const v of [...used(text ?? ''), ...(liquid ? contactIn(text ?? '') : [])]) if (!('broken' in v && v.broken) && !/(UNSUBSCRIBE|VIEW)_URL$/.test(v.key) && (v.fallback !== null || !byName.has(v.key))) byName.set(v.key, v.fallback);
		return [...byName];
	}, [...texts, liquid]);
	return html`<div class="vars"><span>${t('editor.variables')}</span>${all.length ? all.map(([name, fallback], i) => html`<${Variable} key=${name} name=${name} otherwise=${fallback ?? fallbacks[name]} segment=${segment ? audience.data : undefined} ready=${i < most && (!segment || !!audience.data)} />`) : html`<span>${t(liquid ? 'editor.noVariablesLiquid' : 'editor.noVariables')}</span>`}</div>`;
}
