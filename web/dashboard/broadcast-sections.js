// The links between broadcasts, automations, and the feeds that broadcasts are made from.
import { html } from './lib/core.js';
import { t } from './i18n.js';
import { base } from './router.js';
import { Sections } from './ui/base.js';

/** @param {{at: 'broadcasts'|'automations'|'feeds'}} props */
export const BroadcastSections = ({ at }) => html`<${Sections} label=${t('broadcasts.title')} at=${`${base}/${at}`} links=${['broadcasts', 'automations', 'feeds'].map((page) => [t(`${page}.title`), `${base}/${page}`])} />`;
