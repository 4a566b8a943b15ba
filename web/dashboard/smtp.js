// SMTP: how mail comes in today, which is by the API.
import { html } from './lib/core.js';
import { t } from './i18n.js';
import { base } from './router.js';
import { Button, Copy, Empty, Facts, Head, Section } from './ui/base.js';
import { KeySections } from './keys.js';

/** The page. */
export default function Smtp() {
	return html`<${Head} title=${t('smtp.title')} />
	<${KeySections} at="/smtp" />
	<${Empty} icon="key" title=${t('smtp.none')} act=${html`<${Button} kind="primary" href=${`${base}/keys`}>${t('smtp.keys')}<//><${Button} href="/manual">${t('ui.manual')}<//>`}>${t('smtp.noneText')}<//>
	<div class="page page--text"><${Section} title=${t('smtp.api')}><${Facts} pairs=${[[t('smtp.address'), html`<${Copy} text=${`${location.origin}/emails`} />`], [t('smtp.header'), html`<code>Authorization: Bearer …</code>`]]} /><//></div>`;
}
