// A field to search a list with: the list is asked anew when the words are sent, not with each letter.
import { useState } from 'preact/hooks';
import { t } from '../messages';
import { Button } from './ui';

export function Search({ label, onSearch }: { label: string; onSearch: (words: string) => void }) {
  const [words, type] = useState('');
  return (
    <form
      class="row tight"
      role="search"
      onSubmit={(e) => {
        e.preventDefault();
        onSearch(words.trim());
      }}>
      <input
        class="input search"
        type="search"
        aria-label={label}
        placeholder={label}
        value={words}
        onInput={(e) => type(e.currentTarget.value)}
      />
      <Button type="submit" icon="search">
        {t.palette.open}
      </Button>
    </form>
  );
}
