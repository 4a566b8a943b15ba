// One saved block: its HTML, which is saved by a press, since all emails with it change.
import { html, useRef, useState } from './lib/core.js';
import { api, ApiError, useGet } from './api.js';
import { removeBlock } from './blocks.js';
import { placeOf } from './drafts.js';
import { t } from './i18n.js';
import { blockTag } from './liquid.js';
import { encoded } from './paths.js';
import { base, go } from './router.js';
import { Bones, Button, Copy, Failed, Head, Icon } from './ui/base.js';
import { CodeEditor, Refusal } from './ui/code-editor.js';
import { Menu, toast } from './ui/float.js';

/** The page. @param {{params: {id: string}}} props */
export default function BlockPage({ params }) {
	const { data, error, reload, set } = useGet(encoded`/blocks/${params.id}`);
	const path = [[t('blocks.title'), `${base}/blocks`]];
	if (error && !data) return html`<${Head} title=${t('blocks.one')} path=${path} /><${Failed} error=${error} retry=${reload} />`;
	if (!data) return html`<${Head} title=${t('blocks.one')} path=${path} /><${Bones} />`;
	return html`<${Writing} key=${data.id} of=${data} set=${set} path=${path} />`;
}

function Writing({ of, set, path }) {
	const [name, setName] = useState(of.name);
	const [text, setText] = useState(of.html);
	const [refused, refuse] = useState(/** @type {any} */ (null));
	const editor = useRef(/** @type {any} */ (null));
	const changed = name.trim() !== of.name || text !== of.html;
	const save = async () => {
		try {
			set(await api.patch(encoded`/blocks/${of.id}`, { ...(name.trim() === of.name ? {} : { name: name.trim() }), html: text }));
			refuse(null);
			toast(t('blocks.saved'));
		} catch (e) {
			if (!(e instanceof ApiError)) throw e;
			refuse({ message: e.message, place: placeOf(e.message) });
		}
	};
	return html`<${Head} title=${of.name} path=${path}>
		<${Menu} label=${t('ui.acts')} items=${[{ icon: 'trash', name: t('blocks.delete'), danger: true, run: async () => (await removeBlock(of)) && go('/blocks', { replace: true }) }]} />
		<${Button} kind="primary" disabled=${!changed || !name.trim()} onClick=${save}>${t('blocks.save')}<//><//>
	<dl class="meta"><dt><label for="b-name">${t('blocks.name')}</label></dt><dd><input class="input" id="b-name" value=${name} maxlength="100" onInput=${(e) => setName(e.currentTarget.value)} /></dd>
	<dt>${t('blocks.tag')}</dt><dd><${Copy} text=${blockTag(of.name)} /></dd></dl>
	<div class="bench bench--one"><section aria-label="HTML"><${CodeEditor} text=${of.html} label="HTML" handle=${editor} refused=${refused?.place?.field === 'html' ? refused : null} onChange=${setText} />
	${refused && html`<${Refusal} of=${refused} editor=${editor} here=${refused.place?.field === 'html'} />`}
	<div class="vars"><span class="row"><${Icon} name="info" />${t('blocks.everywhere')}</span></div></section></div>`;
}
