// Which pictures and sounds of a peer are shown, and how?
//
// As a blob of a listed type. SVG is not listed: it is a document that may contain programs.

import { useEffect, useState } from 'preact/hooks';
import { size } from '../state/clock';
import { Visible } from './visible';
import { Muted } from './button';

const PICTURES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif'];
const SOUNDS = ['audio/wav', 'audio/x-wav', 'audio/mpeg', 'audio/ogg'];

/** The type that a block may be shown as, or `null`. */
function shownType(mimeType: string): { kind: 'picture' | 'sound'; type: string } | null {
    const type = mimeType.split(';')[0]!.trim().toLowerCase();
    if (PICTURES.includes(type)) return { kind: 'picture', type };
    if (SOUNDS.includes(type)) return { kind: 'sound', type };
    return null;
}

export function Media({ mimeType, data }: { mimeType: string; data: string }) {
    const shown = shownType(mimeType);
    const [address, setAddress] = useState<string | null>(null);
    const [broken, setBroken] = useState(false);
    useEffect(() => {
        if (!shown) return undefined;
        let blob: Blob;
        try {
            const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
            blob = new Blob([bytes], { type: shown.type });
        } catch {
            setBroken(true);
            return undefined;
        }
        const url = URL.createObjectURL(blob);
        setAddress(url);
        setBroken(false);
        return () => URL.revokeObjectURL(url);
    }, [mimeType, data]);
    const about = (
        <Muted>
            <Visible text={mimeType} />, {size(Math.floor((data.length * 3) / 4))}
        </Muted>
    );
    if (!shown) {
        return (
            <p class="media-note" data-testid="media-refused">
                {about} Not shown: this type may contain programs or is not known. The raw result has its bytes.
            </p>
        );
    }
    if (broken) return <p class="media-note">{about} The data is not valid, so there is nothing to show.</p>;
    return (
        <figure class="media" data-testid={`media-${shown.kind}`}>
            {address && shown.kind === 'picture' && <img src={address} alt={`picture of type ${shown.type}`} onError={() => setBroken(true)} />}
            {address && shown.kind === 'sound' && <audio src={address} controls aria-label={`sound of type ${shown.type}`} />}
            <figcaption>{about}</figcaption>
        </figure>
    );
}
