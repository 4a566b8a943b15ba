// Turning a plain draft into one that is written in Liquid, after its differences were shown.
import { html } from './lib/core.js';
import { Diff } from './diff.js';
import { t } from './i18n.js';
import { languageName } from './language-names.js';
import { inLanguage, languagesOf } from './languages.js';
import { kept } from './liquid.js';
import { Button, Icon } from './ui/base.js';
import { dialog, DialogBody, toast } from './ui/float.js';

const parts = ['subject', 'preview_text', 'html', 'text'];

/** What changes: [language, part, before, after]. @param {any} draft */
function changes(draft) {
	return ['', ...languagesOf(draft.value)].flatMap((of) => {
		const { value } = inLanguage(draft, of);
		return parts.map((name) => [of, name, value[name] ?? '', kept(value[name] ?? '')]).filter(([, , before, after]) => before !== after);
	});
}

/** Converts a draft. @param {any} draft the whole one */
async function convert(draft) {
	const found = changes(draft);
	if (!(await dialog((close) => html`<${Ask} found=${found} close=${close} />`))) return;
	const was = Object.fromEntries(['syntax', 'variants', ...parts, 'design'].filter((name) => name in draft.value).map((name) => [name, draft.now()[name]]));
	draft.change({ syntax: 'liquid' });
	for (const [of, name, , after] of found) {
		const mine = inLanguage(draft, of);
		// The design says the same as the HTML.
		mine.change({ [name]: after, ...(name === 'html' && mine.value.design ? { design: JSON.stringify(JSON.parse(mine.value.design, (_, value) => (typeof value === 'string' ? kept(value) : value))) } : {}) });
	}
	draft.redraw();
	toast(t('convert.done'), { undo: () => {
		draft.change(was);
		draft.redraw();
	} });
}

function Ask({ found, close }) {
	return html`<${DialogBody} title=${t('convert.title')} onSubmit=${() => close(true)} acts=${html`<${Button} onClick=${() => close(false)}>${t('ui.cancel')}<//><${Button} type="submit" kind="primary">${t('convert.act')}<//>`}>
		<p>${t('convert.text')}</p>
		${found.length ? html`<p>${t('convert.keeps')}</p>${found.map(([of, name, before, after]) => html`<h3 class="t13 versions-field">${of && `${languageName(of)}: `}${t(`versions.${name}`)}</h3><${Diff} before=${before} after=${after} />`)}` : html`<p class="row"><${Icon} name="check" class="good" />${t('convert.same')}</p>`}<//>`;
}

/** The offer below the editor of a plain draft. @param {{draft: any}} props the whole draft */
export const Convert = ({ draft }) => (draft.value.syntax === 'plain' ? html`<div class="vars"><span>${t('convert.offer')}</span><${Button} class="push" onClick=${() => convert(draft)}>${t('convert.ask')}<//></div>` : null);
