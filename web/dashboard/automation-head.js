// The head of the pages of an automation: its name, status, acts and tabs.
import { html } from './lib/core.js';
import { acts, turn, whyNot } from './automation-acts.js';
import { draftOf } from './automation-draft.js';
import { t } from './i18n.js';
import { encoded } from './paths.js';
import { base, go, href } from './router.js';
import { Button, Failed, Head, Notice, Sections, Status } from './ui/base.js';
import { Menu } from './ui/float.js';

/** The path of an automation in the API. @param {string} id */
export const pathOf = (id) => encoded`/automations/${id}`;

/** Whether an automation starts runs. @param {{of: any}} props */
export const AutomationStatus = ({ of }) => html`<${Status} of=${of.held ? 'held' : of.status === 'enabled' ? 'open' : 'neutral'} word=${t(of.held ? 'automations.isHeld' : of.status === 'enabled' ? 'automations.isEnabled' : 'automations.isDisabled')} />`;

const tabs = ['', 'report', 'runs', 'test', 'settings'];

/** @param {{got: any, id: string, at: string}} props got is useGet's */
export function AutomationHead({ got, id, at }) {
	const of = got.data;
	const path = /** @type {[string, string][]} */ ([[t('automations.title'), href('/automations')]]);
	if (got.error && !of) return html`<${Head} title=${t('automations.one')} path=${path} /><${Failed} error=${got.error} retry=${got.reload} />`;
	if (!of) return html`<${Head} title="" text=${t('automations.one')} path=${path} />`;
	const why = whyNot();
	const unsaved = Boolean(draftOf(id));
	const to = (tab) => base + (tab ? encoded`/automations/${id}/${tab}` : encoded`/automations/${id}`);
	const on = of.status === 'enabled';
	return html`<${Head} title=${html`<bdi>${of.name}</bdi>`} text=${of.name} path=${path} note=${html`<${AutomationStatus} of=${of} />`}>
		<${Button} kind=${on || unsaved ? '' : 'primary'} icon=${on ? 'pause' : 'play'} disabled=${Boolean(why)} aria-describedby=${why ? 'automation-why' : undefined} onClick=${() => turn(of, got.reload)}>${t(on ? 'automations.disable' : 'automations.enable')}<//>
		<${Menu} label=${t('ui.acts')} items=${acts(of, { reload: got.reload, removed: () => go('/automations', { replace: true }) }).slice(1)} /><//>
	${why && html`<p class="automation-why muted t12" id="automation-why">${why}</p>`}
	${of.held && html`<div class="automation-why"><${Notice} kind="warn">${t('automations.heldText')}<//></div>`}
	<${Sections} label=${t('automations.one')} at=${to(at)} links=${tabs.map((tab) => [t(`automations.tabs.${tab || 'flow'}`), to(tab)])} />`;
}
