// Changes of automations that are not saved, kept while the page is open: other tabs of an automation can be visited.
import { signal } from './lib/core.js';
import { graphOf, treeOf } from './automation-flow.js';
import { me, team } from './state.js';

/** Drafts by person, team and automation: {tree, version}, or {text, version} of a JSON that can't be drawn. @type {any} */
const drafts = signal({});

const place = (id) => `${me.value?.id ?? me.value?.email ?? ''} ${team.value ?? ''} ${id}`;

/** The draft of an automation; null: it is as it was saved. @param {string} id */
export const draftOf = (id) => drafts.value[place(id)] ?? null;

/** Keeps a draft; null: forgets it. @param {string} id @param {any} draft */
export function keepDraft(id, draft) {
	const { [place(id)]: before, ...others } = drafts.value;
	drafts.value = draft ? { ...others, [place(id)]: { ...before, ...draft } } : others;
}

/** The flow of an automation as the canvas draws it. @param {any} automation */
export const savedTree = (automation) => treeOf({ steps: automation.steps, connections: automation.connections });

/** The steps of an automation in the order of the canvas, which numbers them. @param {any} automation @returns {any[]} */
export const stepsOf = (automation) => graphOf(savedTree(automation)).steps;

/** A flow as text, the same for two that do the same. @param {any} tree */
export function flowText(tree) {
	const graph = graphOf(tree);
	return JSON.stringify({ steps: graph.steps.map(({ key, type, config }) => ({ key, type, config })), connections: graph.connections }, null, 2);
}
