// The start of a new email: one of three layouts, nothing, a template, the last broadcast, MJML
// or HTML.
import { html, useId } from './lib/core.js';
import { say, t } from './i18n.js';

const text = (words, ...marks) => ({ type: 'text', text: words, ...(marks.length ? { marks } : {}) });
const paragraph = (...content) => ({ type: 'paragraph', content });
const heading = (level, words) => ({ type: 'heading', attrs: { level }, content: [text(words)] });
const variable = (key, fallback = null) => ({ type: 'variable', attrs: { key, fallback } });
const button = (words) => ({ type: 'button', attrs: { href: '' }, content: [text(words)] });
const line = { type: 'horizontalRule' };
const columns = (...cells) => ({ type: 'twoColumns', content: cells.map((cell) => ({ type: 'columnsColumn', content: [paragraph(...cell)] })) });
const bold = { type: 'bold' };

/** @param {{key: string, fallback: string|null}} name */
const hello = (name) => paragraph(...say('visual.hello', { name: [variable(name.key, name.fallback)] }).flatMap((part) => (typeof part === 'string' ? part && text(part) : part)).filter(Boolean));

/** The end of an email: the team's footer, and the link that unsubscribes. @param {boolean} leave with that link */
const end = (leave) => [{ type: 'brandFooter' }, ...(leave ? [paragraph(text(t('visual.unsubscribeText'), { type: 'link', attrs: { href: '{{{UNSUBSCRIBE_URL}}}' } }))] : [])];

const layouts = {
	announcement: (name) => [{ type: 'brandLogo' }, heading(1, t('starters.news.title')), hello(name), paragraph(text(t('starters.news.text'))), button(t('starters.news.act'))],
	digest: (name) => [{ type: 'brandLogo' }, heading(1, t('starters.issue.title')), hello(name), paragraph(text(t('starters.issue.text'))),
		...[1, 2, 3].flatMap((n) => [heading(2, t('starters.issue.item', { n })), paragraph(text(t('starters.issue.itemText')))]), button(t('starters.news.act'))],
	receipt: (name, facts) => [{ type: 'brandLogo' }, heading(1, t('starters.order.title')), hello(name), paragraph(text(t('starters.order.text'))),
		columns([text(t('starters.order.number'))], [facts ? variable('ORDER_NUMBER') : text('1001')]), columns([text(t('starters.order.total'), bold)], [facts ? variable('TOTAL') : text('0.00', bold)]), button(t('starters.order.act'))],
	blank: (name) => [hello(name), { type: 'paragraph' }],
};

/** The variables of a template that begins with a layout. @param {string} start */
export const variablesOf = (start) => [{ key: 'NAME', type: 'string', fallback_value: 'there' }, ...(start === 'receipt' ? ['ORDER_NUMBER', 'TOTAL'].map((key) => ({ key, type: 'string', fallback_value: '–' })) : [])];

/** Whether a start has a design; the others have HTML or a copy. @param {string} start */
export const hasDesign = (start) => start in layouts || start === 'mjml';

/** A design that holds MJML. @param {string} source */
export const mjmlDesign = (source) => JSON.stringify({ type: 'mjml', source });

/** The source of a new email in MJML. @param {string} name the variable @param {boolean} leave with the link that unsubscribes */
const mjmlStart = (name, leave) => `<mjml>
  <mj-body>
    <mj-section>
      <mj-column>
        <mj-text font-size="16px">${t('visual.hello', { name })}</mj-text>
        <mj-text font-size="16px"></mj-text>
${leave ? `        <mj-text font-size="12px"><a href="{{{UNSUBSCRIBE_URL}}}">${t('visual.unsubscribeText')}</a></mj-text>\n` : ''}      </mj-column>
    </mj-section>
  </mj-body>
</mjml>
`;

/**
 * The design that a new email begins with; the HTML is made when it is opened.
 * @param {string} start @param {{broadcast: boolean}} of a broadcast knows its contact, a template what its sends bring
 */
export function designOf(start, { broadcast }) {
	if (start === 'mjml') return mjmlDesign(mjmlStart(broadcast ? `{{{contact.first_name|${t('visual.there')}}}}` : '{{{NAME}}}', broadcast));
	const name = broadcast ? { key: 'contact.first_name', fallback: t('visual.there') } : { key: 'NAME', fallback: null };
	const content = layouts[start](name, !broadcast);
	return JSON.stringify({ type: 'doc', content: [{ type: 'container', content: [...content, ...(start === 'blank' ? [] : [line]), ...end(broadcast)] }] });
}

/** Sketches: rectangles of x, y, width, height and class. @type {Record<string, any[][]>} */
const sketches = {
	announcement: [[8, 6, 10, 4, 'mark'], [8, 14, 40, 5, 'ink'], [8, 23, 48, 2], [8, 27, 42, 2], [8, 33, 18, 6, 'mark']],
	digest: [[8, 5, 28, 4, 'ink'], [8, 13, 18, 3, 'ink'], [8, 18, 48, 2], [8, 24, 18, 3, 'ink'], [8, 29, 48, 2], [8, 35, 18, 3, 'ink'], [8, 40, 40, 2]],
	receipt: [[8, 6, 34, 4, 'ink'], [8, 15, 48, 2], [8, 22, 16, 2], [44, 22, 12, 2], [8, 27, 16, 2], [44, 27, 12, 2], [8, 33, 48, 1, 'ink'], [8, 37, 16, 3, 'ink'], [44, 37, 12, 3, 'ink']],
	blank: [[8, 8, 20, 2]],
	template: [[14, 4, 42, 34, 'page'], [8, 9, 42, 34, 'page'], [13, 15, 24, 4, 'ink'], [13, 23, 32, 2], [13, 27, 28, 2]],
	last: [[8, 6, 26, 4, 'ink'], [8, 14, 48, 2], [8, 18, 44, 2], [8, 22, 46, 2], [8, 29, 48, 10, 'mark']],
	mjml: [[8, 6, 48, 14, 'page'], [12, 10, 20, 2, 'mark'], [12, 14, 30, 2], [8, 24, 22, 18, 'page'], [34, 24, 22, 18, 'page'], [12, 30, 12, 2], [38, 30, 12, 2]],
	html: [[8, 8, 14, 3, 'mark'], [14, 15, 26, 2], [20, 20, 30, 2], [20, 25, 22, 2], [14, 30, 26, 2], [8, 37, 14, 3, 'mark']],
};

const Sketch = ({ of }) => html`<svg class="sketch" viewBox="0 0 64 48" aria-hidden="true">${sketches[of].map(([x, y, width, height, look = 'line']) => html`<rect class=${`sketch-${look}`} x=${x} y=${y} width=${width} height=${height} rx="1" />`)}</svg>`;

/** The start of a new email, asked once. @param {{value: string, options: string[], onChange: (value: string) => void, hint?: string}} props */
export function Start({ value, options, onChange, hint = t(`starters.hints.${value}`) }) {
	const name = useId();
	return html`<fieldset class="starts" aria-describedby=${`${name}h`}><legend class="field-label">${t('starters.title')}</legend>
		<div class="starts-of">${options.map((one) => html`<label class="start" key=${one}><input class="vh" type="radio" name=${name} value=${one} checked=${one === value} onChange=${() => onChange(one)} /><${Sketch} of=${one} /><span>${t(`starters.${one}`)}</span></label>`)}</div>
		<p class="field-hint" id=${`${name}h`}>${hint}</p></fieldset>`;
}
