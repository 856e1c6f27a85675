// How does the head of a table look? A name that ends with a colon heads a column of numbers.

export function TableHead({ columns }: { columns: string[] }) {
    return (
        <thead>
            <tr>
                {columns.map((name) => (
                    <th key={name} scope="col" class={name.endsWith(':') ? 'number' : undefined}>
                        {name.replace(':', '')}
                    </th>
                ))}
            </tr>
        </thead>
    );
}
