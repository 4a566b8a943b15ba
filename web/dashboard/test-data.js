// Test data of a template: values that its preview, its test mail and its calls are filled with.
import { html, useState } from './lib/core.js';
import { t } from './i18n.js';
import { Button, Input } from './ui/base.js';
import { dialog, DialogBody } from './ui/float.js';

/** Values are kept in this browser until the person signs out, as unsaved texts are. @param {string} id */
const place = (id) => `mailer.draft.${id}.data`;

/** @param {string} id of a template @returns {Record<string, any>} */
export function testData(id) {
	try {
		return JSON.parse(localStorage.getItem(place(id)) ?? '{}');
	} catch {
		return {};
	}
}

/** @param {string} id @param {Record<string, any>} values */
export function keepTestData(id, values) {
	try {
		localStorage.setItem(place(id), JSON.stringify(values));
	} catch { /* a browser that keeps nothing: the values last as long as the page */ }
}

/** The type of a value as a variable's. @param {any} value */
export const typeOf = (value) => (Array.isArray(value) ? 'list' : value && typeof value === 'object' ? 'object' : ['number', 'boolean'].includes(typeof value) ? typeof value : 'string');

/** What a list or an object has, as variables of its items or members. @param {any} value @returns {{name: string, type: string, items?: any[]}[]} */
export function shapeOf(value) {
	const of = Array.isArray(value) ? value[0] : value;
	if (of === undefined || of === null) return [];
	if (typeof of !== 'object' || Array.isArray(of)) return [{ name: '', type: typeOf(of), items: shapeOf(of) }];
	return Object.entries(of).filter(([name]) => /^\w+$/.test(name)).map(([name, member]) => ({ name, type: typeOf(member), items: Array.isArray(member) ? shapeOf(member) : undefined }));
}

/** Variables and the members of objects among them, with their types. @param {any[]} variables @param {Record<string, any>} values */
export function withMembers(variables, values) {
	return variables.filter(({ key }) => key).flatMap(({ key, type, ...rest }) => {
		const value = values[key];
		const own = { name: key, type, ...rest, ...(type === 'list' ? { items: shapeOf(value) } : {}) };
		if (type !== 'object' || typeOf(value) !== 'object') return [own];
		return [own, ...shapeOf(value).map((member) => ({ ...member, name: `${key}.${member.name}` }))];
	});
}

/** Edits all values as one JSON object. Resolves to them. @param {Record<string, any>} values @returns {Promise<Record<string, any>|undefined>} */
export const editTestData = (values) => dialog((close) => html`<${Data} values=${values} close=${close} />`);

function Data({ values, close }) {
	const [text, setText] = useState(JSON.stringify(values, null, 2));
	const [wrong, say] = useState('');
	const done = () => {
		try {
			const read = JSON.parse(text);
			if (typeOf(read) !== 'object') throw new SyntaxError(t('testData.object'));
			close(read);
		} catch (e) {
			say(e.message);
		}
	};
	return html`<${DialogBody} title=${t('testData.title')} onSubmit=${done} acts=${html`<${Button} onClick=${() => close()}>${t('ui.cancel')}<//><${Button} type="submit" kind="primary">${t('testData.use')}<//>`}>
		<p>${t('testData.text')}</p><${Input} label=${t('testData.json')} lines="14" mono value=${text} onInput=${setText} error=${wrong} spellcheck="false" autofocus /><//>`;
}
