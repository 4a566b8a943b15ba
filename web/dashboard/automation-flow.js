// The flow of an automation: the graph of the API as a tree of steps, which the canvas changes, and back.
//
// A sequence is {items, ends}: its steps in order, and whether runs end after them though more
// follows its branch. An item is {step, branches?}, branches being two sequences, or {jump}: the key
// of a step elsewhere that runs go on with. A tree is {main, loose}; loose are steps without a
// connection that leads to them: goals for the whole flow.

/** The connections by which steps with two branches are left. @type {Record<string, [string, string]>} */
export const outcomes = { condition: ['condition_met', 'condition_not_met'], split: ['condition_met', 'condition_not_met'], wait_for_event: ['event_received', 'timeout'] };

/** The types of steps that can be added, in the order of the menu. */
export const types = ['send_email', 'delay', 'wait_until', 'wait_for_event', 'condition', 'split', 'goal', 'contact_update', 'add_to_segment', 'remove_from_segment', 'set_topic', 'webhook', 'contact_delete'];

/** Types of steps without a configuration. */
export const bare = ['contact_delete'];

/** The most steps of an automation. */
export const mostSteps = 150;

/** The targets of each step by connection. A wait with the connection default goes on with it either way. @param {any} graph */
function targets(graph) {
	/** @type {Map<string, Record<string, string>>} */
	const out = new Map(graph.steps.map((step) => [step.key, {}]));
	for (const { from, to, type } of graph.connections) {
		const of = out.get(from);
		if (of && out.has(to)) of[type || 'default'] = to;
	}
	for (const { key, type } of graph.steps) {
		const of = out.get(key);
		if (type !== 'wait_for_event' || !of?.default) continue;
		for (const one of outcomes[type]) of[one] ??= of.default;
		delete of.default;
	}
	return out;
}

/** The steps that one leads to, itself first, each after all that lead to it. @param {Map<string, Record<string, string>>} next @param {string|undefined} key */
function reach(next, key) {
	const seen = new Set();
	/** @type {string[]} */
	const out = [];
	const visit = (/** @type {string|undefined} */ at) => {
		if (!at || seen.has(at)) return;
		seen.add(at);
		Object.values(next.get(at) ?? {}).reverse().forEach(visit);
		out.unshift(at);
	};
	visit(key);
	return out;
}

/** The tree of a graph. @param {{steps: any[], connections: any[]}} graph */
export function treeOf(graph) {
	const steps = new Map(graph.steps.map((step) => [step.key, step]));
	const next = targets(graph);
	const placed = new Set();
	const walk = (/** @type {string|undefined} */ key, /** @type {string|undefined} */ stop) => {
		/** @type {any[]} */
		const items = [];
		while (key && key !== stop) {
			if (placed.has(key)) {
				items.push({ jump: key });
				return { items, ends: true };
			}
			placed.add(key);
			const step = steps.get(key);
			const to = next.get(key) ?? {};
			const pair = outcomes[step.type];
			if (!pair) {
				items.push({ step });
				key = to.default;
				continue;
			}
			const [first, second] = pair.map((one) => reach(next, to[one]));
			let meet = first.find((one) => second.includes(one));
			if (!meet && stop && (first.includes(stop) || second.includes(stop))) meet = stop;
			items.push({ step, branches: [walk(to[pair[0]], meet), walk(to[pair[1]], meet)] });
			key = meet;
		}
		return { items, ends: Boolean(stop) && key !== stop };
	};
	const main = walk(graph.steps.find((step) => step.type === 'trigger')?.key, undefined);
	return { main, loose: graph.steps.filter((step) => !placed.has(step.key)) };
}

/** The graph of a tree. @param {any} tree @returns {{steps: any[], connections: any[]}} */
export function graphOf(tree) {
	/** @type {any[]} */
	const steps = [];
	/** @type {any[]} */
	const connections = [];
	const link = (from, to, type) => to && connections.push({ from, to, type });
	const begins = (seq, i, after) => (seq.items[i] ? seq.items[i].jump ?? seq.items[i].step.key : seq.ends ? null : after);
	const lay = (seq, after) => seq.items.forEach((item, i) => {
		if (item.jump) return;
		const { key, type } = item.step;
		const then = begins(seq, i + 1, after);
		steps.push(item.step);
		if (!item.branches) {
			if (type !== 'contact_delete') link(key, then, 'default');
			return;
		}
		item.branches.forEach((branch, n) => link(key, begins(branch, 0, then), outcomes[type][n]));
		item.branches.forEach((branch) => lay(branch, then));
	});
	lay(tree.main, null);
	return { steps: [...steps, ...tree.loose], connections };
}

/** Whether the trigger leads to each step of the tree but the loose ones. @param {any} tree */
export function whole(tree) {
	const graph = graphOf(tree);
	const start = graph.steps.find((step) => step.type === 'trigger')?.key;
	return reach(targets(graph), start).length === graph.steps.length - tree.loose.length;
}

/** A sequence: the main one, or a branch of a step. @param {any} tree @param {{of: string|null, branch: number}} at */
export const sequence = (tree, { of, branch }) => (of === null ? tree.main : find(tree, of)?.item.branches[branch]);

/** Where a step is: {seq, i, item}. @param {any} tree @param {string} key @returns {any} */
export function find(tree, key) {
	const search = (seq) => {
		for (const [i, item] of seq.items.entries()) {
			if (item.step?.key === key) return { seq, i, item };
			for (const branch of item.branches ?? []) {
				const found = search(branch);
				if (found) return found;
			}
		}
		return null;
	};
	return search(tree.main);
}

/** @param {any} tree @param {(copy: any) => void} change */
function changed(tree, change) {
	const copy = structuredClone(tree);
	change(copy);
	return copy;
}

/** A tree with one more step. @param {any} tree @param {{of: string|null, branch: number, i: number}} at @param {any} step */
export const insert = (tree, at, step) => changed(tree, (copy) => sequence(copy, at).items.splice(at.i, 0, outcomes[step.type] ? { step, branches: [{ items: [], ends: false }, { items: [], ends: false }] } : { step }));

/** A tree with another configuration of a step. @param {any} tree @param {string} key @param {any} config */
export const configure = (tree, key, config) => changed(tree, (copy) => {
	const step = find(copy, key)?.item.step ?? copy.loose.find((one) => one.key === key);
	step.config = config;
});

/** The steps of an item. @param {any} item @returns {any[]} */
export const within = (item) => (item.jump ? [] : [item.step, ...(item.branches ?? []).flatMap((branch) => branch.items.flatMap(within))]);

/** A tree without a step and those in its branches. What jumped to one of them goes on with the step after. @param {any} tree @param {string} key */
export const remove = (tree, key) => changed(tree, (copy) => {
	const found = find(copy, key);
	if (!found) {
		copy.loose = copy.loose.filter((step) => step.key !== key);
		return;
	}
	const gone = new Set(within(found.item).map((step) => step.key));
	const after = found.seq.items[found.i + 1];
	found.seq.items.splice(found.i, 1);
	const mend = (seq) => {
		seq.items = seq.items.flatMap((item) => (!gone.has(item.jump) ? [item] : after ? [{ jump: after.jump ?? after.step.key }] : []));
		for (const item of seq.items) item.branches?.forEach(mend);
	};
	mend(copy.main);
});

/** A tree in which a step has changed places with the one before (-1) or after it (1); null: it can't. @param {any} tree @param {string} key @param {number} by */
export function move(tree, key, by) {
	const found = find(tree, key);
	const other = found?.seq.items[found.i + by];
	if (!other?.step || other.step.type === 'trigger' || found.item.step.type === 'trigger') return null;
	const made = changed(tree, (copy) => {
		const { seq, i } = find(copy, key);
		[seq.items[i], seq.items[i + by]] = [seq.items[i + by], seq.items[i]];
	});
	return whole(made) ? made : null;
}

/** A tree in which runs end after a branch, or go on below; null: no run would go on. @param {any} tree @param {{of: string, branch: number}} at @param {boolean} ends */
export function end(tree, at, ends) {
	const made = changed(tree, (copy) => {
		sequence(copy, at).ends = ends;
	});
	return whole(made) ? made : null;
}

/** A key that no step has, and that none had: runs are moved between versions by it. @param {any} tree @param {string} type */
export function newKey(tree, type) {
	const taken = new Set(graphOf(tree).steps.map((step) => step.key));
	for (;;) {
		const key = `${type}_${crypto.getRandomValues(new Uint32Array(1))[0].toString(36).slice(-5)}`;
		if (!taken.has(key)) return key;
	}
}

/** What is wrong with a flow that was typed as JSON: {field, problem}, problem being a key of the texts "automation.json"; null: it can be drawn. @param {any} value */
export function faultOf(value) {
	if (value === null || typeof value !== 'object' || Array.isArray(value)) return { field: '', problem: 'object' };
	for (const name of ['steps', 'connections']) if (!Array.isArray(value[name])) return { field: name, problem: 'array' };
	const extra = Object.keys(value).find((name) => name !== 'steps' && name !== 'connections');
	if (extra !== undefined) return { field: extra, problem: 'unknown' };
	const keys = new Set();
	for (const [i, step] of value.steps.entries()) {
		const field = `steps[${i}]`;
		if (step === null || typeof step !== 'object' || Array.isArray(step)) return { field, problem: 'object' };
		if (typeof step.key !== 'string' || !step.key) return { field: `${field}.key`, problem: 'text' };
		if (keys.has(step.key)) return { field: `${field}.key`, problem: 'twice' };
		if (step.type !== 'trigger' && !types.includes(step.type)) return { field: `${field}.type`, problem: 'type' };
		if (step.config === null || typeof step.config !== 'object' || Array.isArray(step.config)) return { field: `${field}.config`, problem: 'object' };
		keys.add(step.key);
	}
	if (value.steps.filter((step) => step.type === 'trigger').length !== 1) return { field: 'steps', problem: 'trigger' };
	for (const [i, one] of value.connections.entries()) {
		if (one === null || typeof one !== 'object') return { field: `connections[${i}]`, problem: 'object' };
		for (const end of ['from', 'to']) if (!keys.has(one[end])) return { field: `connections[${i}].${end}`, problem: 'key' };
	}
	return null;
}

/** The units of a duration and their seconds. @type {Record<string, number>} */
export const units = { minute: 60, hour: 3600, day: 86_400, week: 604_800 };

/** A duration like "3 days" or "1h30m" as a number and a unit. @param {string|undefined} text */
export function spanOf(text) {
	const words = /^(\d+)\s+(second|minute|hour|day|week)s?$/i.exec((text ?? '').trim());
	if (words && words[2].toLowerCase() !== 'second') return { n: words[1], unit: words[2].toLowerCase() };
	const letters = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };
	let seconds = words ? Number(words[1]) : 0;
	for (const [, n, letter] of (text ?? '').matchAll(/(\d+(?:\.\d+)?)([smhdw])/g)) seconds += Number(n) * letters[letter];
	if (!seconds) return { n: '', unit: 'day' };
	const unit = Object.keys(units).reverse().find((one) => seconds % units[one] === 0) ?? 'minute';
	return { n: String(Math.ceil(seconds / units[unit])), unit };
}

/** A duration as the API has it; empty: none. @param {{n: string, unit: string}} span */
export const spanText = ({ n, unit }) => (n === '' ? '' : `${Number(n)} ${unit}${Number(n) === 1 ? '' : 's'}`);
