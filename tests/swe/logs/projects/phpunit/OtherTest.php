<?php
declare(strict_types=1);

namespace Sample;

use PHPUnit\Framework\TestCase;

final class OtherTest extends TestCase
{
    public function testEndsTheProcess(): void
    {
        if (getenv('CASE') === 'killed') { posix_kill(getmypid(), 9); }
        if (getenv('CASE') === 'exit') { exit(0); }
        if (getenv('CASE') === 'fatal') { eval('function x(int $a): void {} x(); class Y extends Z {}'); }
        $this->assertTrue(true);
    }

    public function testComesLast(): void { $this->assertTrue(true); }
}
