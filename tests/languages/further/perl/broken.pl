print twice(<STDIN>);
