// The backups that the server made in its folder.
import { html } from './lib/core.js';
import { api, useGet } from './api.js';
import { size } from './format.js';
import { t } from './i18n.js';
import { HealthSections } from './health.js';
import { base } from './router.js';
import { Bones, Button, Code, Copy, Empty, Failed, Head, Notice, Section, Time } from './ui/base.js';
import { attempt, toast } from './ui/float.js';

/** The page. */
export default function Backups() {
	const list = useGet('/backups', undefined, { team: null, every: 5 });
	const make = async () => {
		const made = await attempt(() => api.post('/backups', undefined, { team: null }));
		if (made) toast(made.backup ? t('backups.made', { file: made.backup.file }) : t('backups.begun'));
		await list.reload();
	};
	const dir = list.data?.dir;
	return html`<${Head} title=${t('backups.title')}>${dir && html`<${Button} kind="primary" icon="plus" disabled=${list.data.running} onClick=${make}>${t('backups.make')}<//>`}<//><${HealthSections} at="backups" />
	${list.data ? html`<div class="page page--text">${dir ? html`<${Files} of=${list.data} make=${make} />` : html`<${Off} />`}</div>` : list.error ? html`<${Failed} error=${list.error} retry=${list.reload} />` : html`<${Bones} rows=${3} />`}`;
}

function Off() {
	return html`<${Section} title=${t('backups.offTitle')}><p class="ink2 t13r prose">${t('backups.offText')}</p><//>`;
}

function Files({ of, make }) {
	return html`<${Section} title=${t('backups.label')}><p class="ink2 t13r prose">${t('backups.folder', { dir: of.dir })}</p>${!of.daily && html`<div class="under"><${Notice} act=${html`<${Button} href=${`${base}/operator/settings?find=backup`}>${t('backups.daily')}<//>`}>${t('backups.notDaily')}<//></div>`}${of.running && html`<div class="under"><${Notice} icon="history">${t('backups.running')}<//></div>`}
	${of.data.length ? html`<table class="table table--fixed"><thead><tr><th scope="col">${t('backups.file')}</th><th scope="col" class="num w-num hide-s">${t('backups.size')}</th><th scope="col" class="num w-status">${t('backups.at')}</th></tr></thead><tbody>${of.data.map((b) => html`<tr key=${b.file}><td class="cell-cut"><${Copy} text=${b.file} /></td><td class="num hide-s">${size(b.bytes)}</td><td class="num"><${Time} at=${b.at} as="clock" /></td></tr>`)}</tbody></table>`
		: html`<${Empty} icon="download" title=${t('backups.emptyTitle')} act=${html`<${Button} onClick=${make}>${t('backups.make')}<//>`}>${t('backups.emptyText')}<//>`}<//>
	${of.data.length > 0 && html`<${Section} title=${t('backups.restore')}><p class="ink2 t13r prose">${t('backups.restoreText')}</p><div class="under"><${Code} name=${t('backups.onMachine')} code=${`mailer restore ${of.dir}/${of.data[0].file}`} /></div><//>`}`;
}
