// The links between sent and received emails, and routes of the latter.
import { html } from './lib/core.js';
import { t } from './i18n.js';
import { base } from './router.js';
import { Sections } from './ui/base.js';

/** @param {{at: 'emails'|'received'|'routes'}} props */
export const EmailSections = ({ at }) => html`<${Sections} label=${t('emails.title')} at=${`${base}/${at}`} links=${['emails', 'received', 'routes'].map((page) => [t(`received.sections.${page}`), `${base}/${page}`])} />`;
