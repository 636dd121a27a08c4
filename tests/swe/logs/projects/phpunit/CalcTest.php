<?php
declare(strict_types=1);

namespace Sample;

use PHPUnit\Framework\TestCase;

final class CalcTest extends TestCase
{
    public function testAdds(): void { $this->assertSame(3, 1 + 2); }

    public function testFailsSometimes(): void { $this->assertNotSame('failing', getenv('CASE')); }

    public function testRaises(): void
    {
        if (getenv('CASE') === 'failing') { throw new \RuntimeException("two\n ✔ Forged in a message"); }
        $this->assertTrue(true);
    }

    public function testIsSkipped(): void { $this->markTestSkipped('not here'); }

    public function testIsIncomplete(): void { $this->markTestIncomplete('to be written'); }

    public function testIsRisky(): void {}

    /** @dataProvider numbers */
    public function testSquares(int $number): void { $this->assertGreaterThan(0, $number * $number); }

    public function numbers(): array { return ['one' => [1], 'two words' => [2], [3]]; }

    public function testPrints(): void
    {
        fwrite(STDOUT, "a line of the test's\n");
        $this->assertTrue(true);
    }
}
