// Liquid as the editors write it: names, conditions and loops. The server checks it on saving.

/** A name in Liquid: parts that are no identifiers stand in brackets. @param {string} key like contact.city */
export const nameOf = (key) => key.split('.').map((part, i) => (/^[A-Za-z_]\w*$/.test(part) ? (i ? `.${part}` : part) : `["${part}"]`)).join('');

/** Whether a text can be a name, like order.items. @param {string} text */
export const isName = (text) => /^[A-Za-z_]\w*(\.\w+)*$/.test(text);

/** Whether Liquid can say a text in quotes: it has no escapes. @param {string} text */
export const canQuote = (text) => !/[\r\n]|%\}|\}\}|\{%|\{\{/.test(text) && !(text.includes('"') && text.includes("'"));

/** A text in quotes. @param {string} text */
const quoted = (text) => (text.includes('"') ? `'${text}'` : `"${text}"`);

/** The comparisons of a condition by the type of what is compared. @type {Record<string, string[]>} */
export const comparisons = {
	string: ['equals', 'not_equals', 'contains', 'is_set', 'is_not_set'],
	number: ['equals', 'not_equals', 'greater_than', 'less_than', 'is_set', 'is_not_set'],
	boolean: ['is_true', 'is_false'],
	list: ['is_set', 'is_not_set', 'contains'],
	object: ['is_set', 'is_not_set'],
	html: ['is_set', 'is_not_set'],
};

/** Comparisons without a value. */
export const alone = ['is_set', 'is_not_set', 'is_true', 'is_false'];

/** Whether a condition has what it compares. @param {{key: string, type: string, op: string, value: string}} of */
export const isWhole = ({ key, type, op, value }) => isName(key) && (alone.includes(op) || (type === 'number' ? value.trim() !== '' && Number.isFinite(Number(value)) : canQuote(value)));

/** The tags around a block that is shown on a condition. @param {{key: string, type: string, op: string, value: string}} of @returns {[string, string]} */
export function conditionTags(of) {
	if (!isWhole(of)) return ['', ''];
	const { type, op, value } = of;
	const name = nameOf(of.key);
	const than = type === 'number' ? String(Number(value)) : quoted(value);
	const set = `${name} and ${name} != ${type === 'list' ? 'empty' : '""'}`;
	const sign = { equals: '==', not_equals: '!=', contains: 'contains', greater_than: '>', less_than: '<' }[op];
	if (op === 'is_not_set' || op === 'is_false') return [`{% unless ${op === 'is_false' ? name : set} %}`, '{% endunless %}'];
	return [`{% if ${sign ? `${name} ${sign} ${than}` : op === 'is_true' ? name : set} %}`, '{% endif %}'];
}

/** The tags around a block that is repeated. @param {{list: string, item: string}} of @returns {[string, string]} */
export const loopTags = ({ list, item }) => (isName(list) ? [`{% for ${item} in ${nameOf(list)} %}`, '{% endfor %}'] : ['', '']);

/**
 * A variable as it is written in HTML: a placeholder where that is enough, else Liquid.
 * @param {{key: string, fallback: string|null, type?: string, expression?: string|null}} of
 */
export function spelled({ key, fallback = null, type = 'string', expression = null }) {
	if (expression) return `{{ ${expression} }}`;
	if (type === 'html') return `{{ ${nameOf(key)} | raw }}`;
	if (/^(contact\.)?\w+$/.test(key) && type !== 'boolean') return `{{{${key}${fallback === null ? '' : `|${fallback}`}}}}`;
	return `{{ ${nameOf(key)}${fallback === null ? '' : ` | default: ${quoted(fallback)}`} }}`;
}

/** A saved block as it is written in HTML. @param {string} name */
export const blockTag = (name) => `{% block "${name}" %}`;

const token = /(?<!\{)\{\{(?!\{)[^]*?\}\}|\{%[^]*?%\}/g;

/** What Liquid would read in a text that was written without it. @param {string} text @returns {string[]} */
export const readAsLiquid = (text) => [...text.matchAll(token)].map(([found]) => found);

/** A text that means in Liquid what it meant without it. @param {string} text */
export const kept = (text) => text.replace(token, (found) => `{% raw %}${found}{% endraw %}`);

/** The contact's values that outputs of a text write, with their default. @param {string} text @returns {{key: string, fallback: string|null}[]} */
export const contactIn = (text) => readAsLiquid(text).map((tag) => /^\{\{-?\s*(contact\.\w+)\s*(?:\|[^]*?\bdefault:\s*(?:"([^"]*)"|'([^']*)'))?/.exec(tag)).filter(Boolean).map(([, key, double, single]) => ({ key, fallback: double ?? single ?? null }));

const words = /^(and|or|contains|in|true|false|nil|null|blank|empty|forloop|contact|reversed|limit|offset)$/;

/**
 * The variables that Liquid in texts reads and nothing declares, with the types that their use
 * suggests. The server knows exactly; this offers to declare them. @param {string[]} texts @param {Set<string>} declared
 * @returns {{key: string, type: string}[]}
 */
export function undeclaredIn(texts, declared) {
	const bound = new Set();
	const found = new Map();
	for (const inside of texts.flatMap(readAsLiquid).map((tag) => tag.replace(/^\{[{%]-?\s*|\s*-?[%}]\}$/g, '').replace(/"[^"]*"|'[^']*'/g, ''))) {
		const [, made] = /^(?:for|assign|capture)\s+([A-Za-z_]\w*)/.exec(inside) ?? [];
		if (made) bound.add(made);
		const list = /^for\s+\w+\s+in\s+([A-Za-z_]\w*)(?!\w*\.)/.exec(inside)?.[1];
		const read = inside.replace(/^(?:for\s+\w+\s+in|assign\s+\w+\s*=|capture\s+\w+|(?:end)?\w+(?=\s|$)(?!\s*\|))/, (tag) => (/^(for|assign|capture|if|elsif|unless|case|when|end\w+|else|block|raw|comment|cycle|break|continue)\b/.test(tag) ? '' : tag)).replace(/\|[^|]*/g, (filter) => filter.replace(/^\|\s*\w+/, '|'));
		for (const [, key, member] of read.matchAll(/(?<![\w.])([A-Za-z_]\w*)(\.\w+)?/g)) {
			if (words.test(key) || bound.has(key) || declared.has(key)) continue;
			if (!found.get(key) || found.get(key) === 'string') found.set(key, key === list ? 'list' : member ? 'object' : 'string');
		}
	}
	return [...found].map(([key, type]) => ({ key, type }));
}
