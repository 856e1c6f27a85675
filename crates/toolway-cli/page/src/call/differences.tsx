// Where do two values differ? The server found the places; this draws them.

import type { Difference } from '../api/types';
import { withMarks } from '../part/visible';
import { Muted } from '../part/button';
import { TableHead } from '../part/table';

const MOST = 100;

export function Differences({ differences, left, right }: { differences: Difference[]; left: string; right: string }) {
    return (
        <table class="differences" data-testid="differences">
            <TableHead columns={['place', left, right]} />
            <tbody>
                {differences.slice(0, MOST).map((difference) => (
                    <tr key={difference.path}>
                        <th scope="row">
                            <code>{withMarks(difference.path || '(whole value)')}</code>
                        </th>
                        <td class="was">{difference.was === null ? <Muted>absent</Muted> : <code>{withMarks(difference.was)}</code>}</td>
                        <td class="is">{difference.is === null ? <Muted>absent</Muted> : <code>{withMarks(difference.is)}</code>}</td>
                    </tr>
                ))}
                {differences.length > MOST && (
                    <tr>
                        <td colSpan={3} class="muted">
                            {differences.length - MOST} more
                        </td>
                    </tr>
                )}
            </tbody>
        </table>
    );
}
