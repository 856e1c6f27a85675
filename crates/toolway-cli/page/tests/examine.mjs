// Does axe-core find something in the page as it is?

import assert from 'node:assert/strict';

/** Examines the page as it is by all rules, and once more in dark by those that a theme can break: its colours. */
export async function fine(view, where) {
    await view.theme('light');
    assert.deepEqual(await view.violations(), [], where);
    await view.theme('dark');
    assert.deepEqual(await view.violations('color-contrast', 'link-in-text-block'), [], `${where}, dark`);
}
